// Run inside the page of a difference: reads every number that it says of some functions from the document.
((keys, wanted) => {
  const row = (key) => haveAllRows() || [...$("rows").rows].find((one) => one.querySelector("button").dataset.name === key);
  const texts = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
  Object.assign(state, { ...readFragment("", fields), ...wanted });
  draw();
  const said = { detail: $("detail").textContent, events: [...$("event").options].map((one) => one.text), status: $("status").textContent, functions: {} };
  choose("colour", "object");
  said.legend = [...$("legend").children].map((one) => one.textContent);
  choose("colour", "change");
  for (const key of keys) {
    const found = row(key);
    const cells = [...[...found.cells].slice(1).map((cell) => cell.textContent), found.title, found.className];
    openFunction(key);
    const root = [...Array(layout.size).keys()].find((box) => layout.has(box) && layout.lane[box] === 1);
    if (root !== undefined) select(root);
    said.functions[key] = { cells, panel: texts("#detail .bars > span"), shares: [...document.querySelectorAll("#detail .bars i")].map((one) => parseFloat(one.style.width)), lines: root === undefined ? [] : sizes(root), status: $("status").textContent, callers: [...document.querySelectorAll(".callers li")].map((one) => [...one.children].map((part) => part.textContent)) };
    openFunction("");
  }
  return said;
})
