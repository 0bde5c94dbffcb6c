/** One service and one browser for all journeys, and people of every role who are signed in already. */
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { CreatedOrg } from '../../src/app/operator/create-org.ts'
import { hashPassword } from '../../src/customers/accounts/passwords.ts'
import { draftSecret } from '../audit/entry-drafts.ts'
import { addPerson, type Person, signIn } from '../clients/people.ts'
import { goodPassword } from '../clients/sign-in-client.ts'
import { startTestService, type TestService } from '../service/service.ts'
import { launchBrowser } from './find-browser.ts'
import { kept, tidy } from './journey.ts'
import { watchPage } from './watch-page.ts'

const root = dirname(dirname(import.meta.dirname))

export const roles = ['owner', 'developer', 'member', 'viewer'] as const
export type StageRole = (typeof roles)[number]

export type OpenOptions = { width?: number; theme?: 'light' | 'dark' }

export type Stage = {
  t: TestService
  org: CreatedOrg
  people: Record<StageRole, Person>
  password: string
  /** A page of somebody with this role, who has one browser in each test. Null: nobody is signed in. */
  open(role: StageRole | null, options?: OpenOptions): Promise<Page>
  /** The same page in every test, which loads the dashboard once. For journeys that leave the shell as it was. */
  again(role: StageRole): Promise<Page>
  /** The same for any person. */
  openAs(userId: string, options?: OpenOptions): Promise<Page>
  /** Faults that pages have reported since the last call: console errors and violations of the security policy. */
  takeFaults(): string[]
  /** The same service and browser with pages and faults of its own. `close` then closes the pages only. */
  scene(): Stage
  /** Closes what was opened. Open pages go on asking the service for news. */
  rest(): Promise<void>
  close(): Promise<void>
}

/** Builds the dashboard if its sources have changed. */
export const buildDashboard = (): string => {
  execFileSync(process.execPath, [join(root, 'scripts', 'build-web.js'), '--if-changed'], { stdio: 'inherit' })
  return join(root, 'dist', 'web')
}

const addPeople = async (t: TestService, orgId: string): Promise<Record<StageRole, Person>> => {
  const passwordHash = await hashPassword(goodPassword)
  const added = await Promise.all(
    roles.map(async (role) => {
      const email = `${role}-${Math.random().toString(36).slice(2)}@example.test`
      return [role, await addPerson(t, { orgId, role, email, passwordHash })] as const
    }),
  )
  return Object.fromEntries(added) as Record<StageRole, Person>
}

const makeContext = async (browser: Browser, url: string, { width = 1280, theme = 'light' }: OpenOptions) => {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height: 800 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  // Nothing here waits for the network of another machine.
  context.setDefaultTimeout(60_000)
  return context
}

type Ground = Pick<Stage, 't' | 'org' | 'people' | 'password'> & {
  browser: Browser
}

const makeScene = (ground: Ground, end: () => Promise<void>): Stage => {
  const { t, people, browser } = ground
  const faults: string[] = []
  const opened: BrowserContext[] = []
  const newContext = async (options: OpenOptions = {}): Promise<BrowserContext> => {
    const context = await makeContext(browser, t.url, options)
    opened.push(context)
    return context
  }
  const openIn = async (context: BrowserContext, cookie?: string): Promise<Page> => {
    if (cookie) {
      const [name = '', value = ''] = cookie.split('=')
      await context.addCookies([{ name, value, url: t.url }])
    }
    const page = await context.newPage()
    watchPage(page, t.url, (fault) => faults.push(fault))
    return page
  }
  // Pages of one role share what the browser has loaded.
  const ofRoles = new Map<StageRole, Promise<BrowserContext>>()
  const contextOf = (role: StageRole): Promise<BrowserContext> => {
    const context = ofRoles.get(role) ?? newContext()
    ofRoles.set(role, context)
    return context
  }
  const keptPages = new Map<StageRole, Page>()
  /** A page that a failed test left in a state that cannot be tidied is not used again. */
  const tidyKept = ([role, page]: [StageRole, Page]): Promise<void> =>
    tidy(page).catch(async () => {
      keptPages.delete(role)
      await page.context().close()
    })
  const again = async (role: StageRole): Promise<Page> => {
    const known = keptPages.get(role)
    if (known) return known
    const page = await openIn(await makeContext(browser, t.url, {}), await signIn(t, people[role].userId))
    keptPages.set(role, page)
    kept.add(page)
    return page
  }
  const rest = async (): Promise<void> => {
    ofRoles.clear()
    const used = [...keptPages].filter(([, page]) => !page.url().endsWith('/orgs/new'))
    await Promise.all([...used.map(tidyKept), ...opened.splice(0).map((context) => context.close())])
  }
  return {
    ...ground,
    open: async (role, options) => {
      if (role === null) return openIn(await newContext(options))
      return openIn(await (options ? newContext(options) : contextOf(role)), await signIn(t, people[role].userId))
    },
    again,
    openAs: async (userId, options) => openIn(await newContext(options), await signIn(t, userId)),
    takeFaults: () => faults.splice(0),
    scene: () => makeScene(ground, async () => {}),
    rest,
    close: async () => {
      await rest()
      await end()
    },
  }
}

export const openStage = async (executablePath: string): Promise<Stage> => {
  const webFolder = buildDashboard()
  // Webhooks of journeys go to receivers on loopback.
  const env = { WEBHOOK_ALLOW_INSECURE: 'true', AUDIT_SIGNING_SECRET: draftSecret }
  const [t, browser] = await Promise.all([startTestService({ webFolder, env }), launchBrowser(executablePath)])
  const org = await t.org({ name: 'Acme Mail' })
  const people = await addPeople(t, org.org.id)
  return makeScene({ t, org, people, password: goodPassword, browser }, async () => {
    await browser.close()
    await t.stop()
  })
}
