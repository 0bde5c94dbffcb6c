/** Where the content of an attachment is served. */
export const attachmentPath = (id: string, position: number): string => `/api/v1/inbound/${id}/attachments/${position}`
