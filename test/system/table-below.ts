/** The trimmed cells of the first table below a heading of a document, without its head. */
export function tableBelow(document: string, heading: string): readonly (readonly string[])[] {
  const [, section = ''] = document.split(`\n## ${heading}\n`);
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section.split('\n## ')[0] ?? '') ?? [];
  const rows = table.trimEnd().split('\n').slice(2);
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}
