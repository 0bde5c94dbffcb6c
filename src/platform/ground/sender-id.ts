/** Alphanumeric sender ids. */

export const longestSenderId = 11

const form = /^(?=.*[A-Za-z])[A-Za-z0-9 -]{1,11}$/

/** 1 to 11 letters, digits, hyphens and spaces, with at least one letter. */
export const isSenderId = (text: string): boolean => form.test(text)
