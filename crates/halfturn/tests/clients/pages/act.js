// What a page does for its reader: gives what it failed to do.
(() => {
  const failed = [];
  const see = (what, is) => is || failed.push(what);
  const canvas = document.querySelector("canvas");
  const picture = () => canvas.toDataURL();
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  const whole = picture();
  for (const key of ["+", "-", "ArrowLeft", "ArrowRight"]) {
    press(key);
    see(`${key} changes the figure`, picture() !== whole);
    press("Home");
    see(`Home after ${key} shows all again`, picture() === whole);
  }
  const entry = canvas.parentNode.querySelector(".legend button");
  entry.click();
  see("the legend hides a series", picture() !== whole && entry.getAttribute("aria-pressed") === "false");
  entry.click();
  see("and shows it again", picture() === whole && entry.getAttribute("aria-pressed") === "true");
  const head = [...document.querySelectorAll("th")].find((head) => head.textContent.startsWith("mean"));
  const column = [...head.parentNode.children].indexOf(head);
  const figures = () => [...head.closest("table").tBodies[0].rows].map((row) => Number(row.children[column].textContent));
  const up = figures().sort((one, other) => one - other);
  for (const wanted of [up, [...up].reverse()]) {
    head.querySelector("button").click();
    see(`${head.getAttribute("aria-sort")} order`, up.length > 1 && figures().join() === wanted.join());
  }
  return failed;
})()
