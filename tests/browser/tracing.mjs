/** Returns the events of the browser's own trace, of these categories, while something is done; devices: a CDP session. */
export async function traced(devices, categories, act) {
  const events = [];
  devices.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await devices.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: categories } });
  await act();
  const done = new Promise((resolve) => {
    devices.once("Tracing.tracingComplete", resolve);
  });
  await devices.send("Tracing.end");
  await done;
  return events;
}
