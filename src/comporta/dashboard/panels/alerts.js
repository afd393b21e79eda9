// The latest alerts. Which level is shown, how many, and whether the list stands still is the reader's own business, so it stays in the browser.
const FEW = 15;

export default {
  props: { view: Object },
  data: () => ({ level: new URLSearchParams(location.search).get("level") ?? "", shown: FEW, held: null, known: null, fresh: new Set() }),
  watch: {
    view: {
      immediate: true,
      handler(view) {
        const ids = (view?.rows ?? []).map((row) => row.id);
        this.fresh = new Set(this.known ? ids.filter((id) => !this.known.has(id)) : []);
        this.known = new Set(ids);
      },
    },
    level(level) {
      const address = new URL(location);
      level ? address.searchParams.set("level", level) : address.searchParams.delete("level");
      history.replaceState(history.state, "", address);
    },
  },
  computed: {
    choices() {
      return [{ value: "", text: "All" }, ...(this.view?.levels ?? []).map((level) => ({ value: level, text: level }))];
    },
    chosen() {
      return this.choices.some((choice) => choice.value === this.level) ? this.level : "";
    },
    all() {
      return (this.held ?? this.view?.rows ?? []).filter((row) => !this.chosen || row.level === this.chosen);
    },
    rows() {
      return this.all.slice(0, this.shown);
    },
    newer() {
      if (!this.held) return 0;
      const seen = new Set(this.held.map((row) => row.id));
      return (this.view?.rows ?? []).filter((row) => !seen.has(row.id) && (!this.chosen || row.level === this.chosen)).length;
    },
  },
  methods: {
    time: comporta.moment,
    iso: comporta.iso,
    hold() {
      this.held = this.held ? null : (this.view?.rows ?? []);
    },
  },
  template: `
    <section class="c-card c-alerts" aria-labelledby="c-alerts">
      <div class="c-head">
        <h2 id="c-alerts">Latest alerts</h2>
        <fieldset class="c-filter">
          <legend class="c-hidden">Show alerts of level</legend>
          <label v-for="choice in choices" :key="choice.value" :data-level="choice.value || null">
            <input type="radio" name="c-level" :value="choice.value" :checked="choice.value === chosen" @change="level = choice.value" />
            <span>{{ choice.text }}</span>
          </label>
        </fieldset>
        <button type="button" class="c-button" :aria-pressed="held ? 'true' : 'false'" @click="hold">
          {{ held ? (newer ? 'Go on, ' + newer + ' newer' : 'Go on') : 'Hold' }}
        </button>
      </div>
      <div class="c-list" role="table" aria-labelledby="c-alerts">
        <div class="c-row c-row-head" role="row">
          <span role="columnheader">level</span><span role="columnheader">time</span><span role="columnheader" class="c-number">amount</span><span role="columnheader">transaction</span><span role="columnheader">why</span>
        </div>
        <div v-for="row in rows" :key="row.id" class="c-row" :class="{ 'c-fresh': fresh.has(row.id) }" role="row" :data-alert="row.transaction" :data-level="row.level">
          <span role="cell" class="c-cell-level"><b class="c-badge" :data-level="row.level">{{ row.level }}</b><small>score {{ row.score }}, {{ row.action }}</small></span>
          <span role="cell" class="c-cell-time"><time :datetime="iso(row.at_ms)" :title="iso(row.at_ms)">{{ time(row.at_ms) }}</time></span>
          <span role="cell" class="c-cell-amount c-number">{{ row.amount }}</span>
          <span role="cell" class="c-cell-what"><span>{{ row.kind }}<template v-if="row.place">, {{ row.place }}</template></span><small :title="row.where">{{ row.customer }} · {{ row.transaction }}</small></span>
          <span role="cell" class="c-cell-why"><span v-for="(reason, index) in row.reasons" :key="index" class="c-reason">{{ reason.text }}<small v-if="reason.points">{{ reason.points }}</small></span></span>
        </div>
      </div>
      <button v-if="all.length > rows.length" type="button" class="c-button c-more" @click="shown += ${FEW}">Show more</button>
      <p v-if="!rows.length" class="c-empty">{{ view?.known ? (chosen ? 'No alert of this level.' : 'No alert so far.') : 'Not known yet.' }}</p>
    </section>`,
};
