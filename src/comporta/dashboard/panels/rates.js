// Two strips over one axis of time: transactions above, alerts below; what is not known is hatched.
const TOP = { y: 10, height: 132 };
const BOTTOM = { y: 166, height: 44 };
const HEIGHT = 232;
const LEFT = 44;
const RIGHT = 6;

// The smallest round number that holds the value and can be halved.
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 0.1)));
  return [1, 2, 3, 4, 6, 8, 10].map((step) => step * power).find((top) => top >= value);
}

function label(value) {
  return value >= 1000 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

export default {
  props: { view: Object },
  data: () => ({ width: 560, chosen: null }),
  computed: {
    steps() {
      return this.view?.transactions.length ?? 0;
    },
    strips() {
      if (!this.steps) return [];
      return [
        { name: "transactions", values: this.view.transactions, ...TOP },
        { name: "alerts", values: this.view.alerts, ...BOTTOM },
      ].map((strip) => {
        const top = ceiling(Math.max(0, ...strip.values.filter((value) => value != null)));
        const y = (value) => strip.y + strip.height * (1 - value / top);
        const ticks = strip.name === "alerts" ? [0, top] : [0, top / 2, top];
        return { ...strip, paths: this.paths(strip.values, y, strip.y + strip.height), ticks: ticks.map((at) => ({ y: y(at), text: label(at) })), dot: this.dot(strip.values, y) };
      });
    },
    minutes() {
      if (!this.steps) return [];
      const start = this.view.end_ms - this.steps * this.view.step_ms;
      const first = Math.ceil(start / 60000) * 60000;
      const found = [];
      for (let at = first; at <= this.view.end_ms; at += 60000) {
        const x = LEFT + ((at - start) / (this.steps * this.view.step_ms)) * this.inner;
        if (x > LEFT + 14 && x < this.width - 18) found.push({ x, text: comporta.minute(at) });
      }
      return found;
    },
    unknown() {
      const runs = [];
      (this.view?.transactions ?? []).forEach((value, index) => {
        if (value != null) return;
        const last = runs[runs.length - 1];
        if (last && last.to === index) last.to = index + 1;
        else runs.push({ from: index, to: index + 1 });
      });
      return runs.map((run) => ({ x: this.x(run.from), width: this.x(run.to) - this.x(run.from) }));
    },
    inner() {
      return Math.max(this.width - LEFT - RIGHT, 10);
    },
    told() {
      if (this.chosen == null || !this.steps) return null;
      const value = (values) => (values[this.chosen] == null ? "unknown" : label(values[this.chosen]));
      const end = this.view.end_ms - (this.steps - 1 - this.chosen) * this.view.step_ms;
      return { x: this.x(this.chosen + 0.5), time: comporta.time(end), transactions: value(this.view.transactions), alerts: value(this.view.alerts) };
    },
  },
  methods: {
    x(index) {
      return LEFT + (index / this.steps) * this.inner;
    },
    paths(values, y, floor) {
      const lines = [];
      let run = [];
      const close = () => {
        if (run.length) lines.push(run);
        run = [];
      };
      values.forEach((value, index) => (value == null ? close() : run.push([this.x(index + 0.5), y(value)])));
      close();
      const text = (points) => points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
      return {
        line: lines.map((points) => `M${text(points)}`).join(""),
        area: lines.map((points) => `M${points[0][0].toFixed(1)} ${floor}L${text(points)}L${points[points.length - 1][0].toFixed(1)} ${floor}Z`).join(""),
      };
    },
    dot(values, y) {
      const value = this.chosen == null ? null : values[this.chosen];
      return value == null ? null : { x: this.x(this.chosen + 0.5), y: y(value) };
    },
    point(event) {
      const x = event.clientX - this.$refs.plot.getBoundingClientRect().left;
      const index = Math.floor(((x - LEFT) / this.inner) * this.steps);
      this.chosen = index >= 0 && index < this.steps ? index : null;
    },
    move(by) {
      this.chosen = Math.min(Math.max((this.chosen ?? this.steps - 1) + by, 0), this.steps - 1);
    },
  },
  mounted() {
    this.observer = new ResizeObserver(([entry]) => (this.width = Math.round(entry.contentRect.width)));
    this.observer.observe(this.$refs.plot);
  },
  unmounted() {
    this.observer.disconnect();
  },
  template: `
    <section class="c-card c-rates" aria-labelledby="c-rates">
      <div class="c-head">
        <h2 id="c-rates">Committed per second</h2>
        <p class="c-legend"><i class="c-key-transactions" aria-hidden="true"></i>transactions <i class="c-key-alerts" aria-hidden="true"></i>alerts</p>
      </div>
      <div ref="plot" class="c-plot" role="img" tabindex="0" :aria-label="view?.summary ?? 'Nothing is known yet.'"
           @pointermove="point" @pointerleave="chosen = null" @blur="chosen = null"
           @keydown.left.prevent="move(-1)" @keydown.right.prevent="move(1)" @keydown.esc="chosen = null">
        <svg :width="width" :height="${HEIGHT}" :viewBox="'0 0 ' + width + ' ${HEIGHT}'" aria-hidden="true">
          <defs>
            <pattern id="c-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="1.5" height="6" class="c-hatch" /></pattern>
          </defs>
          <template v-for="strip in strips" :key="strip.name">
            <g v-for="tick in strip.ticks" :key="tick.y">
              <line class="c-grid" x1="${LEFT}" :x2="width - ${RIGHT}" :y1="tick.y" :y2="tick.y" />
              <text class="c-tick" x="${LEFT - 8}" :y="tick.y + 4" text-anchor="end">{{ tick.text }}</text>
            </g>
            <rect v-for="run in unknown" :key="run.x" :x="run.x" :width="run.width" :y="strip.y" :height="strip.height" fill="url(#c-hatch)" />
            <path :class="'c-area c-' + strip.name" :d="strip.paths.area" />
            <path :class="'c-line c-' + strip.name" :d="strip.paths.line" />
            <circle v-if="strip.dot" :class="'c-dot c-' + strip.name" :cx="strip.dot.x" :cy="strip.dot.y" r="3.5" />
          </template>
          <text v-for="minute in minutes" :key="minute.text" class="c-tick" :x="minute.x" y="${HEIGHT - 4}" text-anchor="middle">{{ minute.text }}</text>
          <line v-if="told" class="c-cross" :x1="told.x" :x2="told.x" y1="${TOP.y}" y2="${BOTTOM.y + BOTTOM.height}" />
        </svg>
        <p v-if="told" class="c-tip" :class="{ 'c-left': told.x > width / 2 }" :style="{ left: told.x + 'px' }" role="status">
          <b>{{ told.time }}</b><span>{{ told.transactions }} transactions/s</span><span>{{ told.alerts }} alerts/s</span>
        </p>
      </div>
    </section>`,
};
