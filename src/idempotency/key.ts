const printable = /^[\x20-\x7e]{1,255}$/

/** Whether a text can stand as an Idempotency-Key, however it arrived. */
export const isIdempotencyKey = (text: string): boolean => printable.test(text)

export const takesForKey = 'Takes 1 to 255 printable ASCII characters.'
