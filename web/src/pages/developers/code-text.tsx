/** Paragraphs of the description of the API, with names of fields between backticks. */
const withCode = (text: string) =>
  text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a fixed text
      <code key={index} className="rounded-sm bg-selected px-1 font-mono text-xs">
        {part}
      </code>
    ) : (
      part
    ),
  )

export const CodeText = ({ text }: { text: string }) =>
  text.split('\n\n').map((paragraph) => (
    <p key={paragraph} className="max-w-2xl break-words text-sm">
      {withCode(paragraph)}
    </p>
  ))
