/** A bucket of an object store and the beginning of the names in it, which is empty or ends with a slash. */
export type ObjectPlace = { bucket: string; prefix: string }

/** `s3://bucket/prefix`. The prefix has no empty segments and none that begin with a dot. */
export const objectUrlPattern = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w-][\w.-]{0,99}){0,8})\/?$/

/** Undefined for every other text. */
export const parseObjectUrl = (text: string): ObjectPlace | undefined => {
  const [, bucket, path = ''] = objectUrlPattern.exec(text) ?? []
  if (bucket === undefined) return undefined
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/` }
}
