/** Finds the template of a send and renders it with the send's variables. */
import type { Db } from '../../platform/db/pool.ts'
import { makeShortCache } from '../../platform/db/short-cache.ts'
import type { Channel } from '../../platform/ground/channel.ts'
import { invalid } from '../../platform/ground/errors.ts'
import type { Scope } from '../../platform/ground/scope.ts'
import { compileParts, linkMark, makeCompiledTemplates, type TemplateParts } from './compiled.ts'
import { findBySlug } from './find-by-slug.ts'
import type { TemplateVariables } from './language.ts'
import { type OpenTemplate, openTemplate } from './open-template.ts'
import { unsubscribeTag } from './parse.ts'
import { assertContent, type GivenContent, type Rendered, renderParts } from './render-parts.ts'
import type { TemplateRow } from './store.ts'

export type RenderRequest = { slug: string; channel: Channel; variables: TemplateVariables; given: GivenContent }

/** @property subjects Replace the subject of the template. */
export type OpenRequest = { slug: string; channel: Channel; subjects: readonly string[] }

export interface RenderTemplates {
  /** Rejects an unknown slug, missing variables and content that exceeds a cap. The caller validates the variables. */
  render(scope: Scope, request: RenderRequest): Promise<Rendered>
  /** Renders the template alone. The unsubscribe link is shown as its tag. */
  preview(row: TemplateRow, variables: TemplateVariables): Rendered
  /** The same for content that is not saved, which must not get into the cache of the version. */
  previewUnsaved(row: TemplateRow, variables: TemplateVariables): Rendered
  /** Finds the template of many sends. Rejects an unknown slug and a template of the other channel. */
  open(scope: Scope, request: OpenRequest): Promise<OpenTemplate>
  forgetOrg(orgId: string): void
  forgetAll(): void
}

const withTag = (text: string | null): string | null => text?.replaceAll(linkMark, unsubscribeTag) ?? null

const previewParts = (parts: TemplateParts, variables: TemplateVariables): Rendered => {
  const rendered = renderParts(parts, variables, {})
  return { ...rendered, html: withTag(rendered.html), text: withTag(rendered.text) }
}

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

  const partsFor = async (scope: Scope, slug: string, channel: Channel): Promise<TemplateParts> => {
    const parts = await partsOf(scope, slug)
    if (parts.channel !== channel) throw invalid(['template'], 'custom', `Must be a template for ${channel}.`)
    return parts
  }

  return {
    render: async (scope, { slug, channel, variables, given }) => {
      const rendered = renderParts(await partsFor(scope, slug, channel), variables, given)
      assertContent(channel, rendered)
      // No link is filled into a text message, so the tag stays in it.
      return channel === 'sms' ? { ...rendered, text: withTag(rendered.text) } : rendered
    },
    open: async (scope, { slug, channel, subjects }) => openTemplate(await partsFor(scope, slug, channel), subjects),
    preview: (row, variables) => previewParts(compiled.of(row), variables),
    previewUnsaved: (row, variables) => previewParts(compileParts(row), variables),
    forgetOrg: versions.forgetOrg,
    forgetAll: versions.clear,
  }
}
