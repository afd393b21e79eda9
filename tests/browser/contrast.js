// Every piece of text whose contrast to what lies behind it is too small, by WCAG's formula.
() => {
  const channels = (text) => {
    const found = text.match(/[\d.]+/g).map(Number);
    return text.startsWith("color(srgb") ? [...found.slice(0, 3).map((part) => part * 255), found[3] ?? 1] : [...found.slice(0, 3), found[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(channels(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const luminance = (colour) =>
    colour
      .slice(0, 3)
      .map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const weak = [];
  const walker = document.createTreeWalker(document.querySelector(".c-page"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    const style = getComputedStyle(element);
    if (!text || !element.getClientRects().length || element.closest(".c-hidden")) continue;
    const ground = behind(element);
    const ink = over(channels(element.closest("svg") ? style.fill : style.color), ground);
    const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) weak.push(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return weak;
}
