/** Splits the text of a migration into its statements. */

/** What can contain a semicolon: comments, texts, quoted names and the bodies of functions. Block comments do not nest. */
const tokens = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|[\s\S]/g

/** Without comments and empty statements. */
export const splitStatements = (sql: string): string[] => {
  const statements: string[] = []
  let statement = ''
  for (const [token] of sql.matchAll(tokens)) {
    if (token.startsWith('--') || token.startsWith('/*')) statement += ' '
    else if (token === ';') {
      statements.push(statement)
      statement = ''
    } else statement += token
  }
  return [...statements, statement].map((text) => text.trim()).filter((text) => text !== '')
}
