/** The rules of CONTRIBUTING ("Words") as expressions. They also flag clear sentences, so their counts are a ceiling that only falls. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './checkout.ts';

type Kind = 'title' | 'comment' | 'message' | 'prose';

const patterns: Readonly<Record<string, RegExp>> = {
  'a clause as the subject':
    /^(?:%\w+ )?(what|who|whoever|whatever|those (?:who|that|of)|all that|of (?:which|whom))\b/i,
  'a negated noun':
    /(?<!\bthere )\b(is|are|was|were|be) no (?!longer|more|different|better|worse|less|fewer|matter|doubt|such|reason|need|way|run|setting to)\w+|\b(is|are) none\b/i,
  speech:
    /\b(tells? of|told|is said|are said|was said|be said|says so|said to be|is asked|are asked|asked of|hears? of|believe[sd]?|learns? of|\w+ news)\b/i,
  'a person without a role': /\b(somebody|someone|whoever|whomever|anybody|everybody)\b/i,
  'a stand-in for a noun':
    /\b(the rest|the others?|others|another one|the one (?:that|who|of)|that of|those of|all else|something else|what (?:there )?(?:is|was|it was|it is|they are))\b/i,
  '"where" for "if"':
    /(?:^|[,;:] |\b(?:only|also|but|not|and|or|except) )where (?:it|that|this|they|there|the|a|an|no|both|one|nobody|somebody|something|nothing|musterd|another)\b/i,
  'a translated idiom':
    /\b(is|are|was|were) to (?!do\b)(?:be )?[a-z]+|\bbec(?:omes?|ame) of\b|\bcomes? (?:to|about)\b|\bgoes? on\b|\b(?:is|are) so\b|\bby itself\b|\ball the same\b|\banew\b|\bas (?:it|they) (?:is|are|was|were)\b|\bstands? (?:in|once|over|with|beside)\b|\bhangs on\b/i,
  'of which': /\b(of|by|to|for|with|from|at|on|under|after|before) (which|whom|whose)\b/i,
  'two negations':
    /\b(no|not|never|nobody|nothing|none|without|neither)\b[^.;]{1,60}\b(no|not|never|nobody|nothing|none|without|unless)\b/i,
};
/** Of titles alone. */
const state = /^(is|are|isn't|aren't|has|have|was|were)\b|^of\b/i;

/** How many of each kind may be flagged. Lower it when there are fewer. */
const ceilings: Readonly<Record<Kind, number>> = { title: 34, comment: 253, message: 8, prose: 68 };

const filesBelow = (folder: string, ends: RegExp) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => ends.test(path) && !/^api\/|mutation\.md$/.test(path))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8'));

const titles = () =>
  filesBelow('test', /\.ts$/).flatMap((text) =>
    [
      /^\s*(?:it|test)(?:\.(?:skipIf|runIf)\([^)\n]*\)|\.\w+)*\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gm,
      /^\s*[\])}]+[^\n()]{0,40}\)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1,\s*(?:async\b|\(|_)/gm,
    ].flatMap((call) => [...text.matchAll(call)].map(([, , title = '']) => title)),
  );
const program = () => [...filesBelow('src', /\.ts$/), ...filesBelow('migrations', /\.sql$/)];
const comments = () =>
  program().flatMap((text) =>
    [...text.matchAll(/\/\*\*?([\s\S]*?)\*\/|((?:^[ \t]*(?:\/\/|--)[^\n]*\n)+)/gm)].flatMap(
      ([, block, lines]) =>
        (block ?? lines ?? '')
          .replaceAll(/^[ \t]*(?:\*|\/\/|--)[ \t]?/gm, '')
          .split(/(?<=[.!?])\s+(?=[A-Z`])|\s@\w+ /),
    ),
  );
const messages = () =>
  program().flatMap((text) =>
    [
      ...text.matchAll(
        /(?:new (?:Musterd|Service)Error\(\s*'[\w-]+',|\bhint:[^'"`\n]*|raise exception|(?:hint|detail) =)\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g,
      ),
    ].map(([, , words = '']) => words),
  );
const prose = () =>
  [
    ...filesBelow('docs', /\.md$/),
    ...['README.md', 'CONTRIBUTING.md'].map((name) => readFileSync(join(ROOT, name), 'utf8')),
  ].flatMap((text) =>
    text
      .replaceAll(/```[\s\S]*?```/g, '')
      // The rules themselves have examples of both kinds.
      .replace(/^Write for a colleague[\s\S]*?(?=^`test)/m, '')
      .split(/\n\s*\n|\n(?=\s*(?:[*|-]|\d+\.) ?)|\|/)
      .flatMap((part) => part.replaceAll(/\]\([^)]*\)/g, ']').split(/(?<=[.!?])\s+/))
      .filter((sentence) => !/\.test\.ts|^\s*#/.test(sentence)),
  );

it.each<readonly [Kind, () => readonly string[]]>([
  ['title', titles],
  ['comment', comments],
  ['message', messages],
  ['prose', prose],
])('the number of unclear sentences of the kind "%s" stays below its ceiling', (kind, read) => {
  const sentences = read()
    .map((sentence) => sentence.replaceAll(/\s+/g, ' ').trim())
    .filter((sentence) => sentence.split(' ').length > 2);
  const expressions = [...Object.values(patterns), ...(kind === 'title' ? [state] : [])];
  const flagged = sentences.filter((sentence) => expressions.some((each) => each.test(sentence)));
  expect(sentences.length).toBeGreaterThan(200);
  expect(flagged.length).toBeLessThanOrEqual(ceilings[kind]);
});
