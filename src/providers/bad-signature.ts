/** A notification is not proven to come from our provider. The reason is for the log, not for the sender. */
export class SignatureFault extends Error {
  constructor(reason: string, options?: { cause?: unknown }) {
    super(reason, options)
    this.name = 'SignatureFault'
  }
}
