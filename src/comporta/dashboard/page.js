// What the panels share: times as this reader's clock shows them, and the colours that the reader chose.
(() => {
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const days = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short", year: "numeric" });
  const apply = (theme) => {
    theme === "auto" ? delete document.documentElement.dataset.theme : (document.documentElement.dataset.theme = theme);
    return theme;
  };
  const stored = () => {
    try {
      return localStorage.getItem("comporta-theme") ?? "auto";
    } catch {
      return "auto";
    }
  };
  globalThis.comporta = {
    time: (ms) => clock.format(ms),
    minute: (ms) => minutes.format(ms),
    // With its day, unless that is today.
    moment: (ms) => (days.format(ms) === days.format(Date.now()) ? clock.format(ms) : `${days.format(ms)}, ${clock.format(ms)}`),
    iso: (ms) => new Date(ms).toISOString(),
    theme: stored,
    setTheme(theme) {
      try {
        localStorage.setItem("comporta-theme", theme);
      } catch {
        // A browser that keeps nothing keeps no theme either.
      }
      return apply(theme);
    },
  };
  apply(stored());
})();
