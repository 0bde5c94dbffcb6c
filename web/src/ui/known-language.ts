/**
 * Gives the browser a language that formats know. Import this before a library that passes `navigator.language` to
 * `Intl` while it loads: Chromium in the POSIX locale names `en-US@posix`, and `Intl` throws.
 */
try {
  Intl.getCanonicalLocales(navigator.language)
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en', configurable: true })
}
