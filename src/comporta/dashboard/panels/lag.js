// How far the line is behind the log; the bar is logarithmic, its marks are the bands.
const MARKS = [
  { at: 4 / 6, text: "10k" },
  { at: (4 + 4 / 9) / 6, text: "50k" },
  { at: (5 + 4 / 9) / 6, text: "500k" },
];

export default {
  props: { view: Object },
  data: () => ({ marks: MARKS }),
  template: `
    <section class="c-card c-lag" aria-labelledby="c-lag">
      <div class="c-head"><h2 id="c-lag">Lag</h2><p class="c-legend" v-if="view"><span class="c-verdict" :data-tone="view.tone">{{ view.note }}</span></p></div>
      <table class="c-table">
        <thead><tr><th scope="col" title="partition">part.</th><th scope="col" class="c-number">judged to</th><th scope="col" class="c-number">log ends</th><th scope="col" class="c-number">lag</th><th scope="col" class="c-number">behind</th></tr></thead>
        <tbody v-for="row in view?.partitions ?? []" :key="row.partition" :data-partition="row.partition">
          <tr>
            <th scope="row">{{ row.partition }}</th>
            <td class="c-number c-muted">{{ row.position }}</td><td class="c-number c-muted">{{ row.end }}</td>
            <td class="c-number"><b>{{ row.lag }}</b></td><td class="c-number">{{ row.behind }}</td>
          </tr>
          <tr aria-hidden="true"><td colspan="5" class="c-track-cell">
            <div class="c-track" :data-tone="row.tone" :title="row.note"><i :style="{ width: row.width * 100 + '%' }"></i><s v-for="mark in marks" :key="mark.text" :style="{ left: mark.at * 100 + '%' }"></s></div>
          </td></tr>
        </tbody>
      </table>
      <p v-if="view && !view.partitions.length" class="c-empty">Not known yet.</p>
      <p v-if="view?.more" class="c-empty">{{ view.more }}</p>
      <p v-if="view?.partitions.length" class="c-scale" aria-hidden="true"><span v-for="mark in marks" :key="mark.text" :style="{ left: mark.at * 100 + '%' }">{{ mark.text }}</span></p>
    </section>`,
};
