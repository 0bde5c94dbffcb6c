import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import type { components } from '../api/schema.gen.ts'
import { everyRow } from '../ui/every-row.ts'
import { type ListPage, pageOf, usePages } from '../ui/use-pages.ts'

export type Template = components['schemas']['Template']
export type TemplatePreview = components['schemas']['TemplatePreview']
export type Channel = Template['channel']

/** A page is small because it has the whole content of each template. */
const readPage = async (channel: string, cursor: string | undefined): Promise<ListPage<Template>> => {
  const query = { ...pageOf(cursor, 25), ...(channel && { channel: channel as Channel }) }
  return (await unwrap(api.GET('/api/internal/templates', { params: { query } }))) as ListPage<Template>
}

export const useTemplates = (channel: string) =>
  usePages(['templates', 'list', channel], (cursor) => readPage(channel, cursor))

/** All templates to choose from, of both channels if none is named. */
export const useTemplateChoices = (channel = '') =>
  useQuery({
    queryKey: ['templates', 'choices', channel],
    queryFn: () => everyRow((cursor) => readPage(channel, cursor)),
  })

export const readTemplate = async (id: string): Promise<Template> =>
  (await unwrap(api.GET('/api/internal/templates', { params: { query: { id } } }))) as Template

/** Read once: the editor holds what is typed, and saving returns the new version. */
export const useTemplate = (id: string) =>
  useQuery({
    queryKey: ['templates', id],
    queryFn: () => readTemplate(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
