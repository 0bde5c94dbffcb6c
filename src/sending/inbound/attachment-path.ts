/** Where the content of an attachment is served, to keys and to people. */
export const attachmentPath = (id: string, position: number): string => `/api/v1/inbound/${id}/attachments/${position}`

export const dashboardAttachmentPath = (id: string, position: number): string =>
  `/api/internal/inbound-emails/${id}/attachments/${position}`
