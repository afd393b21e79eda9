// Who answers, how old the figures are, and what a reader must know now.
const THEMES = { auto: "as the system", light: "light", dark: "dark" };

export default {
  props: { view: Object },
  data: () => ({ heard: performance.now(), now: performance.now(), theme: comporta.theme() }),
  watch: {
    view() {
      this.heard = this.now = performance.now();
    },
  },
  computed: {
    age() {
      return this.view?.age_ms == null ? null : this.view.age_ms + this.now - this.heard;
    },
    unheard() {
      return this.now - this.heard;
    },
    // The process behind the page may be gone itself; only the browser can notice that.
    cutOff() {
      return this.unheard > 5000;
    },
    lights() {
      const lights = this.view?.lights ?? [];
      return this.cutOff ? lights.map((light) => ({ name: light.name, tone: "unknown", text: "unknown" })) : lights;
    },
  },
  methods: {
    time: comporta.time,
    iso: comporta.iso,
    themeName: (theme) => THEMES[theme],
    span(ms) {
      const seconds = ms / 1000;
      if (seconds < 10) return `${seconds.toFixed(1)} s`;
      if (seconds < 60) return `${Math.floor(seconds)} s`;
      return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
    },
    turn() {
      const names = Object.keys(THEMES);
      this.theme = comporta.setTheme(names[(names.indexOf(this.theme) + 1) % names.length]);
    },
  },
  mounted() {
    this.clock = setInterval(() => (this.now = performance.now()), 250);
    this.$watch(
      () => Boolean(this.view?.stale || this.cutOff),
      (stale) => document.documentElement.classList.toggle("c-stale", stale),
      { immediate: true },
    );
  },
  unmounted() {
    clearInterval(this.clock);
  },
  template: `
    <header class="c-header">
      <div class="c-bar">
        <div class="c-brand">
          <svg class="c-mark" viewBox="0 0 24 24" aria-hidden="true">
            <path class="c-mark-gate" d="M3 3h3v18H3zM18 3h3v18h-3zM7.5 3h9v6.5h-9z" />
            <path class="c-mark-water" d="M7.5 13.2c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0v2.4c-1.5 1.4-3 1.4-4.5 0s-3-1.4-4.5 0zM7.5 18c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0v2.4c-1.5 1.4-3 1.4-4.5 0s-3-1.4-4.5 0z" />
          </svg>
          <h1>Comporta</h1>
          <p v-if="view" class="c-where">line <b>{{ view.line }}</b>, topic <b>{{ view.topic }}</b></p>
        </div>
        <ul v-if="view" class="c-lights" aria-label="State of the line and its sources">
          <li v-for="light in lights" :key="light.name" :data-tone="light.tone" :data-light="light.name">
            <i aria-hidden="true"></i>{{ light.name }} <b>{{ light.text }}</b>
          </li>
        </ul>
        <p class="c-asof" :class="{ 'c-old': view?.stale || cutOff }">
          <template v-if="view?.as_of_ms != null">
            Data as of <time :datetime="iso(view.as_of_ms)" :title="iso(view.as_of_ms)">{{ time(view.as_of_ms) }}</time><span class="c-age" aria-hidden="true">, {{ span(age) }} ago</span>
          </template>
          <template v-else>No data yet</template>
        </p>
        <button type="button" class="c-button c-theme" @click="turn" :aria-label="'Colours: ' + themeName(theme) + '. Change'" :title="'Colours: ' + themeName(theme)">
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path v-if="theme === 'auto'" d="M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18m0 2v14a7 7 0 0 1 0-14" />
            <path v-else-if="theme === 'light'" d="M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10M11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4.9 3.5 7.7 6.3 6.3 7.7 3.5 4.9zM17.7 16.3l2.8 2.8-1.4 1.4-2.8-2.8zM19.1 3.5l1.4 1.4-2.8 2.8-1.4-1.4zM6.3 16.3l1.4 1.4-2.8 2.8-1.4-1.4z" />
            <path v-else d="M12.7 3a9 9 0 1 0 8.3 12.4A7.5 7.5 0 0 1 12.7 3" />
          </svg>
        </button>
      </div>
      <div class="c-notices" role="status">
        <p v-if="cutOff" class="c-notice" data-tone="bad">
          <span>This page has heard nothing from its process. Is it still running?</span>
          <span class="c-aside" aria-hidden="true">silent for {{ span(unheard) }}</span><code>comporta dashboard</code>
        </p>
        <p v-for="notice in view?.notices ?? []" :key="notice.text" class="c-notice" :data-tone="notice.tone">
          <span>{{ notice.text }}</span>
          <span v-if="notice.aside" class="c-aside" aria-hidden="true">{{ notice.aside }}</span>
          <code v-if="notice.remedy">{{ notice.remedy }}</code>
        </p>
      </div>
    </header>`,
};
