/** The size of a file for people. */
export const byteSize = (bytes: number): string => {
  if (bytes < 1_024) return `${bytes} B`
  if (bytes < 1_048_576) return `${Math.ceil(bytes / 1_024).toLocaleString('en')} KB`
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}
