/**
 * Loaded ahead of a measured program: at its end it writes to the file BENCH_REPORT what the process has used, and
 * for how long the event loop stood still at most.
 */
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How often the event loop is asked for a turn. */
const everyMs = 5;

const file = process.env['BENCH_REPORT'];
if (file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: everyMs });
  delay.enable();
  // The same in CPU time, which others on this machine do not lengthen.
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let sinceMs = cpuMs();
  let longestTurnMs = 0;
  const look = () => {
    const nowMs = cpuMs();
    longestTurnMs = Math.max(longestTurnMs, nowMs - sinceMs);
    sinceMs = nowMs;
  };
  // The first turn is the loading of the program, which a lease does not wait for.
  setTimeout(() => {
    sinceMs = cpuMs();
    setInterval(look, everyMs).unref();
  }, everyMs).unref();
  process.on('exit', () => {
    look();
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    writeFileSync(
      file,
      JSON.stringify({
        cpuMs: (userCPUTime + systemCPUTime) / 1000,
        peakMb: maxRSS / 1024,
        longestTurnMs,
        longestDelayMs: delay.max / 1e6,
      }),
    );
  });
}
