/** As one word of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The request of the public API that does the same as a page. */
export const curl = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): string => {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${location.origin}/api/v1${path}`]
  lines.push(`  -H "Authorization: Bearer $TIDINGS_API_KEY"`)
  for (const [name, value] of Object.entries(headers)) lines.push(`  -H ${quoted(`${name}: ${value}`)}`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`)
    lines.push(`  -d ${quoted(JSON.stringify(body, null, 2))}`)
  }
  return lines.join(' \\\n')
}
