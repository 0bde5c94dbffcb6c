/** The text that a one-time code is sent in. */

const tag = /\{\{\s*code\s*\}\}/g

export const templateFault = (template: string): string | undefined => {
  const rest = template.replace(tag, '')
  if (rest === template) return 'Must contain {{code}}.'
  return rest.includes('{{') ? 'Must not contain placeholders other than {{code}}.' : undefined
}

export const renderCode = (template: string, code: string): string => template.replace(tag, code)
