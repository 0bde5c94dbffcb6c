type Props = { label: string; used: number; limit: number | null; text: string; hint?: string }

/** A share of a limit. Without a limit there is only the figure. */
export const Meter = ({ label, used, limit, text, hint }: Props) => (
  <div>
    <div className="flex flex-wrap items-baseline justify-between gap-x-3 text-sm">
      <span className="font-medium">{label}</span>
      <span className="text-muted tabular-nums">{text}</span>
    </div>
    {limit !== null && (
      <progress
        aria-label={label}
        value={Math.min(used, limit)}
        max={Math.max(limit, 1)}
        className="mt-1 block h-1.5 w-full appearance-none overflow-hidden rounded-full bg-selected [&::-moz-progress-bar]:bg-accent-solid [&::-webkit-progress-bar]:bg-selected [&::-webkit-progress-value]:bg-accent-solid"
      />
    )}
    {hint && <p className="mt-0.5 text-muted text-xs">{hint}</p>}
  </div>
)
