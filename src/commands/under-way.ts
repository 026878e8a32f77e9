/** A sign on the terminal that a command is still working. It appears after a second without output. */
import type { SingleBar } from 'cli-progress';
import type { Stream } from './context.ts';
import { asTerminal } from './output.ts';

export interface UnderWay {
  /** Returns a stream that removes the sign and then writes to the given stream. */
  readonly aside: (stream: Stream) => Stream;
  /** Removes the sign, which does not return: the command ends, shows progress of its own, or asks a question. */
  readonly close: () => void;
}

const silentMs = 1_000;

/** Shows nothing if stderr is not a terminal. @param what the command, for example "musterd check" */
export function showUnderWay(err: Stream, what: string): UnderWay {
  if (err.isTTY !== true) return { aside: (stream) => stream, close: () => {} };
  let bar: SingleBar | undefined;
  let over = false;
  let spokeAt = performance.now();
  const hide = () => {
    bar?.stop();
    bar = undefined;
    spokeAt = performance.now();
  };
  const draw = async () => {
    if (bar !== undefined) return bar.update(0);
    if (performance.now() - spokeAt < silentMs) return;
    const { Presets, SingleBar } = await import('cli-progress');
    if (over || performance.now() - spokeAt < silentMs) return;
    bar = new SingleBar(
      {
        format: '  {what} … {duration} s',
        clearOnComplete: true,
        gracefulExit: false,
        stream: asTerminal(err),
      },
      Presets.rect,
    );
    bar.start(1, 0, { what });
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
    close: () => {
      over = true;
      clearInterval(timer);
      hide();
    },
  };
}
