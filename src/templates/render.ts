/** Finds the template a send names and renders it with the send's variables. */
import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import type { Channel } from '../ground/channel.ts'
import { Failure, invalid } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { linkMark, makeCompiledTemplates, type TemplateParts } from './compiled.ts'
import { findBySlug } from './find-by-slug.ts'
import { CapPassed, type CompiledTemplate, type TemplateVariables } from './language.ts'
import { linkPlace } from './parse.ts'
import type { TemplateRow } from './store.ts'

/** In html and text of a template `linkMark` stands where the unsubscribe link belongs. */
export type Rendered = { subject: string | null; html: string | null; text: string | null }

/** Parts of the send itself. They stand as they are, neither rendered nor checked. */
export type GivenContent = { subject?: string; html?: string; text?: string }

export type RenderRequest = { slug: string; channel: Channel; variables: TemplateVariables; given: GivenContent }

export interface RenderTemplates {
  /** Refuses an unknown slug, missing variables and whatever passes a cap. The variables are checked already. */
  render(scope: Scope, ask: RenderRequest): Promise<Rendered>
  /** As it would be sent with nothing given beside, with the link shown as its tag. */
  preview(row: TemplateRow, variables: TemplateVariables): Rendered
  forgetOrg(orgId: string): void
  forgetAll(): void
}

const partNames = ['subject', 'html', 'text'] as const

/** More names than anybody reads would only grow the answer to a hostile template. */
const maxRows = 1_000

const assertSupplied = (parts: TemplateParts, variables: TemplateVariables, given: GivenContent): void => {
  const missing = new Set(
    partNames.filter((part) => given[part] === undefined).flatMap((part) => parts[part]?.missing(variables) ?? []),
  )
  if (missing.size === 0) return
  const errors = [...missing]
    .slice(0, maxRows)
    .map((name) => ({ path: ['variables', name], code: 'required', message: 'Required.' }))
  throw new Failure('TEMPLATE_MISSING_VARIABLES', { errors })
}

const sentences = {
  iterations: 'The loops of the template run more than 5,000 times.',
  loopCharacters: 'The loops of the template produce more than 2,000,000 characters.',
  characters: 'The template renders to more than 10,000,000 characters.',
  steps: 'The template takes more steps to render than are allowed.',
} as const

const renderPart = (template: CompiledTemplate, variables: TemplateVariables): string => {
  try {
    return template.render(variables)
  } catch (error) {
    if (error instanceof CapPassed) throw new Failure('PAYLOAD_TOO_LARGE', { message: sentences[error.cap] })
    throw error
  }
}

/** A subject becomes a header: a line break in a value must not begin another one. */
const onOneLine = (subject: string): string => subject.replace(/[\r\n]+/g, ' ')

const renderParts = (parts: TemplateParts, variables: TemplateVariables, given: GivenContent): Rendered => {
  const own: GivenContent = parts.channel === 'sms' ? { ...(given.text !== undefined && { text: given.text }) } : given
  assertSupplied(parts, variables, own)
  const part = (name: (typeof partNames)[number]): string | null => {
    const template = parts[name]
    return own[name] ?? (template ? renderPart(template, variables) : null)
  }
  const subject = part('subject')
  return {
    subject: subject === null || own.subject !== undefined ? subject : onOneLine(subject),
    html: part('html'),
    text: part('text'),
  }
}

const withTag = (text: string | null): string | null => text?.replaceAll(linkMark, linkPlace) ?? null

type Needs = { db: Db; trusted: () => boolean }

export const makeRenderTemplates = ({ db, trusted }: Needs): RenderTemplates => {
  // Which content a slug names, not the content: sources can be large, and the compiled ones are held by weight.
  const copies = makeShortCache<{ id: string; version: number }>({ trusted })
  const compiled = makeCompiledTemplates()

  const partsOf = async (scope: Scope, slug: string): Promise<TemplateParts> => {
    const name = `${scope.orgId}:${scope.tenantId ?? ''}:${slug}`
    const copy = copies.get(name)
    const held = copy && compiled.held(copy.id, copy.version)
    if (held) return held
    const mark = copies.mark()
    const row = await findBySlug(db, scope, slug)
    if (!row) throw invalid(['template'], 'custom', 'There is no such template.')
    copies.keep(name, scope.orgId, { id: row.id, version: row.version }, mark)
    return compiled.of(row)
  }

  return {
    render: async (scope, { slug, channel, variables, given }) => {
      const parts = await partsOf(scope, slug)
      if (parts.channel !== channel) throw invalid(['template'], 'custom', `This template is not for ${channel}.`)
      const rendered = renderParts(parts, variables, given)
      if (channel === 'email' && !rendered.html && !rendered.text)
        throw invalid(['template'], 'custom', 'Neither html nor text holds anything once rendered.')
      return rendered
    },
    preview: (row, variables) => {
      const rendered = renderParts(compiled.of(row), variables, {})
      return { ...rendered, html: withTag(rendered.html), text: withTag(rendered.text) }
    },
    forgetOrg: copies.forgetOrg,
    forgetAll: copies.clear,
  }
}
