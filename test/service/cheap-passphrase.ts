/** Passphrases of backups at a low cost: deriving a key takes seconds by design, and tests do not depend on the cost. */
import { Encrypter } from 'age-encryption'
import { afterAll, beforeAll, vi } from 'vitest'

const workFactor = 10

/** Applies to every encrypted file that this test file makes in its own process. */
export const cheapPassphrases = (): void => {
  beforeAll(() => {
    const { setPassphrase } = Encrypter.prototype
    vi.spyOn(Encrypter.prototype, 'setPassphrase').mockImplementation(function (this: Encrypter, passphrase) {
      setPassphrase.call(this, passphrase)
      this.setScryptWorkFactor(workFactor)
    })
  })
  afterAll(() => {
    vi.mocked(Encrypter.prototype.setPassphrase).mockRestore()
  })
}
