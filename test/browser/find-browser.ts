/** Finds a Chromium for the tests: the one of CHROME_PATH, an installed one, or the one that npm brought. */
import { existsSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { type Browser, chromium } from 'playwright-core'

/** The first draws no windows, which makes it the fastest. */
const installed = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

const bundled = async (): Promise<string | undefined> => {
  if (platform() !== 'linux' || arch() !== 'x64') return undefined
  const { default: packed } = await import('@sparticuz/chromium')
  return packed.executablePath().catch(() => undefined)
}

export const findBrowser = async (): Promise<string | undefined> => {
  const named = process.env.CHROME_PATH
  if (named) return named
  return installed.find((path) => existsSync(path)) ?? (await bundled())
}

/**
 * Replaces the list of the test library, so it repeats what keeps requests on this machine. The address bar of a
 * window that nobody sees took a second of each new window.
 */
const unwanted = [
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup',
]

/** Nothing that a browser does by itself may leave this machine. */
const flags = [
  `--disable-features=${unwanted.join(',')}`,
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const launchBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: flags, headless: true })
