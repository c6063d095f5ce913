// What there is to see on a page: by how much it is too wide, when it had loaded, and of each figure what was drawn of it.
(() => {
  const colour = (name) => [1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16));
  const luminance = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;

  // How many points of a canvas have each of these colours, whatever shines through; how many have any colour; and how light its
  // letters are.
  function points(canvas, wanted) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Map(wanted.map((name) => [name, 0]));
    const known = new Map();
    let [letters, light, coloured] = [0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 48) continue;
      const at = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      if (!known.has(at)) {
        const near = (name) => colour(name).every((value, part) => Math.abs(value - data[i + part]) <= 10);
        known.set(at, wanted.find(near));
      }
      const name = known.get(at);
      const [r, g, b] = data.subarray(i, i + 3);
      if (Math.max(r, g, b) > Math.min(r, g, b) + 20) coloured += 1;
      if (name) seen.set(name, seen.get(name) + 1);
      // Letters stand left of everything else.
      if ((i / 4) % canvas.width < 56 && data[i + 3] > 200) (letters += 1), (light += luminance(data.subarray(i, i + 3)));
    }
    return { seen, coloured, letters, light: light / letters };
  }

  // Whether a series has something that no neighbour hides: a dot, a line that leads somewhere, a bar of a few points; and is not drawn
  // over by another of the same values.
  function shows(spec, series, canvas) {
    const same = (other) => JSON.stringify(other.at) === JSON.stringify(series.at);
    if (spec.series.slice(spec.series.indexOf(series) + 1).some(same)) return false;
    if (series.draw === "dots") return series.at.length > 0;
    if (series.draw !== "bars") return series.at.some(([x]) => x !== series.at[0][0]);
    const [least, most] = rangeOf(spec.x, spec.series.flatMap(pointsOf).map(([x]) => x));
    const raw = spec.x.log ? Math.log : (value) => value;
    const point = (raw(most) - raw(least)) / (canvas.width - 250);
    return series.at.some(([from, to]) => raw(to) - raw(from) > 4 * point);
  }

  const figures = [...document.querySelectorAll("script[data-figure]")].map((script) => {
    const canvas = document.getElementById(script.dataset.figure).querySelector("canvas");
    if (!canvas) return { name: script.dataset.figure, lacking: ["all of it"], coloured: 0, letters: 0, told: 0 };
    const spec = JSON.parse(script.textContent);
    const colours = [...new Set(spec.series.map((series) => series.colour))];
    const { seen, coloured, letters, light } = points(canvas, colours);
    const drawn = spec.series.filter((series) => shows(spec, series, canvas));
    const lacking = drawn.filter((series) => !seen.get(series.colour)).map((series) => `${series.group ?? ""} ${series.name}`);
    const told = (canvas.getAttribute("aria-label") ?? "").length;
    return { name: spec.title || script.dataset.figure, coloured, lacking, letters, light, told };
  });
  const [navigation] = performance.getEntriesByType("navigation");
  return {
    figures,
    loaded: navigation.loadEventEnd,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
})()
