// How many decisions of each level, lately and in all.
export default {
  props: { view: Object },
  template: `
    <section class="c-card c-levels" aria-labelledby="c-levels">
      <div class="c-head"><h2 id="c-levels">Levels</h2></div>
      <div class="c-stack" role="img" :aria-label="view?.summary ?? 'Nothing is known yet.'">
        <i v-for="row in view?.rows ?? []" :key="row.level" :data-level="row.level" :style="{ flexGrow: row.width, display: row.width ? null : 'none' }"></i>
      </div>
      <table class="c-table">
        <thead><tr><th scope="col">level</th><th scope="col" class="c-number">{{ view?.span }}</th><th scope="col" class="c-number">share</th><th scope="col" class="c-number">in all</th></tr></thead>
        <tbody>
          <tr v-for="row in view?.rows ?? []" :key="row.level">
            <th scope="row"><i class="c-swatch" :data-level="row.level" aria-hidden="true"></i>{{ row.level }}<small>{{ row.action }}</small></th>
            <td class="c-number">{{ row.recent }}</td><td class="c-number c-muted">{{ row.recent_share }}</td><td class="c-number">{{ row.total }}</td>
          </tr>
        </tbody>
      </table>
    </section>`,
};
