// Times as the pages write them, for what goes on between events.

export function runningTime(ms) {
  const whole = Math.max(0, ms);
  if (whole < 60_000) return `${(whole / 1000).toFixed(1)} s`;
  const seconds = Math.floor(whole / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} min`;
}

export function age(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const days = Math.floor(whole / 86_400);
  const parts = [Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  const clock = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return days ? `${days} d ${clock}` : clock;
}

// Times of day in the reader's own zone; the title keeps UTC.
export function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    const at = new Date(time.dateTime);
    time.title = time.textContent;
    const today = at.toDateString() === new Date().toDateString();
    time.textContent = today ? at.toLocaleTimeString() : at.toLocaleString();
  }
}
