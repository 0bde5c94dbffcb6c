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

type Named = { slug: string; channel: Channel }
export type RenderRequest = Named & { variables: TemplateVariables; given: GivenContent }

const withTag = (text: string | null): string | null => text?.replaceAll(linkMark, unsubscribeTag) ?? null

const previewParts = (parts: TemplateParts, variables: TemplateVariables): Rendered => {
  const rendered = renderParts(parts, variables, {})
  return { ...rendered, html: withTag(rendered.html), text: withTag(rendered.text) }
}

export const makeRenderTemplates = ({ db, trusted }: { db: Db; trusted: () => boolean }) => {
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

  const partsFor = async (scope: Scope, { slug, channel }: Named): Promise<TemplateParts> => {
    const parts = await partsOf(scope, slug)
    if (parts.channel !== channel) throw invalid(['template'], 'custom', `Must be a template for ${channel}.`)
    return parts
  }

  return {
    /** Rejects an unknown slug, missing variables and content that exceeds a cap. The caller validates the variables. */
    render: async (scope: Scope, request: RenderRequest): Promise<Rendered> => {
      const rendered = renderParts(await partsFor(scope, request), request.variables, request.given)
      assertContent(request.channel, rendered)
      // No link is filled into a text message, so the tag stays in it.
      return request.channel === 'sms' ? { ...rendered, text: withTag(rendered.text) } : rendered
    },
    /**
     * Finds the template of many sends. Rejects an unknown slug and a template of the other channel. `subjects` replace
     * the subject of the template.
     */
    open: async (scope: Scope, request: Named & { subjects: readonly string[] }): Promise<OpenTemplate> =>
      openTemplate(await partsFor(scope, request), request.subjects),
    /** Renders the template alone. The unsubscribe link is shown as its tag. */
    preview: (row: TemplateRow, variables: TemplateVariables) => previewParts(compiled.of(row), variables),
    /** The same for content that is not saved, which must not get into the cache of the version. */
    previewUnsaved: (row: TemplateRow, variables: TemplateVariables) => previewParts(compileParts(row), variables),
    forgetOrg: versions.forgetOrg,
    forgetAll: versions.clear,
  }
}

export type RenderTemplates = ReturnType<typeof makeRenderTemplates>
