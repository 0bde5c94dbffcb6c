import mime from 'mime/lite'

/** The media type a file's name suggests. */
export const contentTypeOf = (filename: string): string => mime.getType(filename) ?? 'application/octet-stream'
