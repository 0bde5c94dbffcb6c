/** Others send arbitrary bytes, but PostgreSQL cannot store a NUL or half of a surrogate pair. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')
