/** The request of the public API that does the same as a page. */
export const curl = (method: string, path: string, body?: unknown): string => {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${location.origin}/api/v1${path}`]
  lines.push(`  -H "Authorization: Bearer $TIDINGS_API_KEY"`)
  if (body !== undefined) {
    lines.push(`  -H 'Content-Type: application/json'`)
    lines.push(`  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`)
  }
  return lines.join(' \\\n')
}
