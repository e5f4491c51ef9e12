// Contrast of two colours as the Web Content Accessibility Guidelines reckon it.

/** Red, green and blue from 0 to 1 of "#aabbcc", "#abc" or "hsl(30 50% 40%)". */
export function rgb(colour) {
  const hex = /^#(\w{2})(\w{2})(\w{2})$/.exec(colour);
  if (hex) return hex.slice(1).map((pair) => Number.parseInt(pair, 16) / 255);
  const [, hue, saturation, light] = /^hsl\(([-\d.e]+) ([\d.]+)% ([\d.]+)%\)$/.exec(colour).map(Number);
  const most = (saturation / 100) * Math.min(light / 100, 1 - light / 100);
  return [0, 8, 4].map((step) => {
    const turn = (((step + hue / 30) % 12) + 12) % 12;
    return light / 100 - most * Math.max(-1, Math.min(turn - 3, 9 - turn, 1));
  });
}

function luminance(colour) {
  const [red, green, blue] = rgb(colour).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21. */
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
