/** Finds the template of a send and renders it with the send's variables. */
import type { Db } from '../db/pool.ts'
import { makeShortCache } from '../db/short-cache.ts'
import type { Channel } from '../ground/channel.ts'
import { Failure, invalid } from '../ground/errors.ts'
import type { Scope } from '../ground/scope.ts'
import { linkMark, makeCompiledTemplates, type TemplateParts } from './compiled.ts'
import { findBySlug } from './find-by-slug.ts'
import { CapExceeded, type CompiledTemplate, type TemplateVariables } from './language.ts'
import { unsubscribeTag } from './parse.ts'
import type { TemplateRow } from './store.ts'

/** Rendered content. In `html` and `text`, `linkMark` marks the place of the unsubscribe link. */
export type Rendered = { subject: string | null; html: string | null; text: string | null }

/** Parts that the send supplies itself. They replace the template's parts and are not rendered. */
export type GivenContent = { subject?: string; html?: string; text?: string }

export type RenderRequest = { slug: string; channel: Channel; variables: TemplateVariables; given: GivenContent }

export interface RenderTemplates {
  /** Rejects an unknown slug, missing variables and content that exceeds a cap. The caller validates the variables. */
  render(scope: Scope, request: RenderRequest): Promise<Rendered>
  /** Renders the template alone. The unsubscribe link is shown as its tag. */
  preview(row: TemplateRow, variables: TemplateVariables): Rendered
  forgetOrg(orgId: string): void
  forgetAll(): void
}

const partNames = ['subject', 'html', 'text'] as const

/** Limits the size of the response for a hostile template. */
const maxReportedNames = 1_000

const assertSupplied = (parts: TemplateParts, variables: TemplateVariables, given: GivenContent): void => {
  const missing = new Set(
    partNames.filter((part) => given[part] === undefined).flatMap((part) => parts[part]?.missing(variables) ?? []),
  )
  if (missing.size === 0) return
  const errors = [...missing]
    .slice(0, maxReportedNames)
    .map((name) => ({ path: ['variables', name], code: 'required', message: 'Required.' }))
  throw new Failure('TEMPLATE_MISSING_VARIABLES', { errors })
}

const capMessages = {
  iterations: 'The loops of the template run more than 5,000 times.',
  loopCharacters: 'The loops of the template produce more than 2,000,000 characters.',
  characters: 'The template renders to more than 10,000,000 characters.',
  steps: 'The template needs more than 1,000,000 steps to render.',
} as const

const renderPart = (template: CompiledTemplate, variables: TemplateVariables): string => {
  try {
    return template.render(variables)
  } catch (error) {
    if (error instanceof CapExceeded) throw new Failure('PAYLOAD_TOO_LARGE', { message: capMessages[error.cap] })
    throw error
  }
}

/** A subject becomes a header, so a line break in a value must not start another header. */
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

const withTag = (text: string | null): string | null => text?.replaceAll(linkMark, unsubscribeTag) ?? null

type Needs = { db: Db; trusted: () => boolean }

export const makeRenderTemplates = ({ db, trusted }: Needs): RenderTemplates => {
  // Maps a slug to an id and a version. The content itself is cached separately, by size, because it can be large.
  const versions = makeShortCache<{ id: string; version: number }>({ trusted })
  const compiled = makeCompiledTemplates()

  const partsOf = async (scope: Scope, slug: string): Promise<TemplateParts> => {
    const name = `${scope.orgId}:${scope.tenantId ?? ''}:${slug}`
    const known = versions.get(name)
    const parts = known && compiled.cached(known.id, known.version)
    if (parts) return parts
    const mark = versions.mark()
    const row = await findBySlug(db, scope, slug)
    if (!row) throw invalid(['template'], 'custom', 'There is no such template.')
    versions.keep(name, scope.orgId, { id: row.id, version: row.version }, mark)
    return compiled.of(row)
  }

  return {
    render: async (scope, { slug, channel, variables, given }) => {
      const parts = await partsOf(scope, slug)
      if (parts.channel !== channel) throw invalid(['template'], 'custom', `Must be a template for ${channel}.`)
      const rendered = renderParts(parts, variables, given)
      if (channel === 'email' && !rendered.html && !rendered.text)
        throw invalid(['template'], 'custom', 'The template renders to empty html and text.')
      return rendered
    },
    preview: (row, variables) => {
      const rendered = renderParts(compiled.of(row), variables, {})
      return { ...rendered, html: withTag(rendered.html), text: withTag(rendered.text) }
    },
    forgetOrg: versions.forgetOrg,
    forgetAll: versions.clear,
  }
}
