/** Collects the words and lines of a plain text, with single spaces and at most one empty line in a row. */

/** More parts are joined, so that a text of single characters does not need a list of millions. */
const maxParts = 4_096

export const makePlainText = () => {
  const joined: string[] = []
  let parts: string[] = []
  let length = 0
  /** Line ends, a space and a label before the next words. */
  let breaks = 0
  let space = false
  let label = ''
  let remembered = ''
  let maxRemembered = 0

  const push = (text: string): void => {
    parts.push(text)
    length += text.length
    if (remembered.length <= maxRemembered) remembered += text
    if (parts.length < maxParts) return
    joined.push(parts.join(''))
    parts = []
  }

  const write = (text: string): void => {
    if (length > 0 && breaks > 0) push('\n'.repeat(breaks))
    else if (length > 0 && space) push(' ')
    if (label !== '') push(label)
    push(text)
    breaks = 0
    space = false
    label = ''
  }

  const words = (text: string): void => {
    const plain = text.replace(/\s+/g, ' ')
    const trimmed = plain.trim()
    if (plain.startsWith(' ')) space = true
    if (trimmed === '') return
    write(trimmed)
    space = plain.endsWith(' ')
  }

  const breakLine = (): void => {
    breaks = Math.min(2, breaks + 1)
  }

  return {
    /** Adds text whose white space is not significant. */
    words,
    /** Adds text whose white space is significant. */
    lines: (text: string): void => {
      for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
        if (i > 0) breakLine()
        if (line.trim() !== '') write(line.trimEnd())
        space = /\s$/.test(line)
      }
    },
    /** Adds a label before the next words, such as the number of a list item. */
    label: (text: string): void => {
      label = text
    },
    /** What follows starts on a new line: 1, or 2 for one with an empty line before it. */
    startLine: (count: 1 | 2): void => {
      breaks = Math.max(breaks, count)
    },
    /** Ends the line. A second break in a row leaves an empty line, and further ones are ignored. */
    breakLine,
    /** Starts to remember what is added, up to some more characters than `maxLength`. */
    remember: (maxLength: number): void => {
      remembered = ''
      maxRemembered = maxLength
    },
    /** What was added since then. */
    remembered: (): string => remembered.trim(),
    join: (): string => joined.join('') + parts.join(''),
  }
}

export type PlainText = ReturnType<typeof makePlainText>
