export const channels = ['email', 'sms'] as const

/** A medium that messages are sent over. */
export type Channel = (typeof channels)[number]
