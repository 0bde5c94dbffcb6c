/** Joins the lines of each paragraph. Lines of different quote depth are never joined (RFC 3676, 4.5). */
export const unflowed = (text: string, delSp: boolean): string => {
  const paragraphs: { depth: number; lines: string[] }[] = []
  let open = false
  for (const line of text.split(/\r?\n/)) {
    const depth = (/^>*/.exec(line) as RegExpExecArray)[0].length
    const stuffed = line[depth] === ' ' ? 1 : 0
    const content = line.slice(depth + stuffed)
    const isSignature = content === '-- '
    const last = paragraphs.at(-1)
    const flows = content.endsWith(' ') && !isSignature
    const joinable = flows && delSp ? content.slice(0, -1) : content
    if (open && !isSignature && last?.depth === depth) last.lines.push(joinable)
    else paragraphs.push({ depth, lines: [joinable] })
    open = flows
  }
  return paragraphs.map(({ depth, lines }) => `${'>'.repeat(depth)}${depth > 0 ? ' ' : ''}${lines.join('')}`).join('\n')
}
