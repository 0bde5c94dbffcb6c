import mime from 'mime/lite'

/** The media type for the extension of a file name. */
export const contentTypeOf = (filename: string): string => mime.getType(filename) ?? 'application/octet-stream'
