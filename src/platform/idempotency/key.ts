const printable = /^[\x20-\x7e]{1,255}$/

/** Whether a text is a valid Idempotency-Key, over HTTP or SMTP. */
export const isIdempotencyKey = (text: string): boolean => printable.test(text)

export const idempotencyKeyRule = 'Must be 1 to 255 printable ASCII characters.'
