/** Words around a mail that is shown. */
export const mail = {
  blocked: (count: number) =>
    `${count === 1 ? '1 picture' : `${count} pictures`} from other servers not loaded, and links are disabled.`,
  showPictures: 'Show remote images',
  cut: 'The mail is very long. Its end is not shown here.',
  failed: 'The mail cannot be shown as HTML. Read its text or its source.',
} as const
