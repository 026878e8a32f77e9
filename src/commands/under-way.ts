/** A sign on the terminal that a command is still working. It appears after a second without output, or with words. */
import type { SingleBar } from 'cli-progress';
import type { Sign, Stream } from './context.ts';
import { asTerminal } from './output.ts';

export interface UnderWay extends Sign {
  /** Returns a stream that removes the sign and then writes to the given stream. */
  readonly aside: (stream: Stream) => Stream;
}

const silentMs = 1_000;

/** Shows nothing if stderr is not a terminal. @param what the command, for example "musterd check" */
export function showUnderWay(err: Stream, what: string): UnderWay {
  if (err.isTTY !== true) return { aside: (stream) => stream, say: () => {}, close: () => {} };
  let bar: SingleBar | undefined;
  let over = false;
  let said: string | undefined;
  const startedAt = performance.now();
  let spokeAt = startedAt;
  const isDue = () => !over && (said !== undefined || performance.now() - spokeAt >= silentMs);
  const hide = () => {
    bar?.stop();
    bar = undefined;
    spokeAt = performance.now();
  };
  const draw = async () => {
    if (!isDue()) return;
    const { Presets, SingleBar } = await import('cli-progress');
    if (!isDue()) return;
    const words = said ?? `${what} … ${Math.round((performance.now() - startedAt) / 1_000)} s`;
    if (bar !== undefined) return bar.update(0, { words });
    bar = new SingleBar(
      { format: '  {words}', clearOnComplete: true, gracefulExit: false, stream: asTerminal(err) },
      Presets.rect,
    );
    bar.start(1, 0, { words });
  };
  const timer = setInterval(() => void draw(), 200).unref();
  return {
    aside: (stream) => ({
      isTTY: stream.isTTY,
      write: (text) => {
        hide();
        return stream.write(text);
      },
    }),
    say: (words) => {
      said = words;
      void draw();
    },
    close: () => {
      over = true;
      clearInterval(timer);
      hide();
    },
  };
}
