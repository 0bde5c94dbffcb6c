/** A figure of the dashboard with the bound that it must stay below. */
export type Figure = { name: string; value: number; unit: string; below: number; digits?: number }

export const isMet = ({ value, below }: Figure): boolean => value < below

const shownValue = ({ value, unit, digits = 0 }: Figure): string => `${value.toFixed(digits)} ${unit}`.trimEnd()

/** One line for each figure: its name, its value, its target, and whether it is met. */
export const figureLines = (figures: readonly Figure[]): string[] => {
  const rows = figures.map((figure) => [
    figure.name,
    shownValue(figure),
    `below ${figure.below} ${figure.unit}`.trimEnd(),
    isMet(figure) ? 'met' : 'MISSED',
  ])
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
