/** Adds up the metrics of several processes. */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client'

/** The metrics of one process, as they are sent to the primary. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

const add = (of: ProcessMetrics[]) => AggregatorRegistry.aggregate(of)

/** In prom-client, the type of a metric is a text when it comes from `getMetricsAsJSON`. */
const grows = ({ type }: { type: unknown }): boolean => type === 'counter' || type === 'histogram'

/** So many sets of former processes are kept apart before they are added up. */
const maxFormer = 8

export const makeMetricSums = () => {
  let former: ProcessMetrics[] = []
  const fold = async (): Promise<void> => {
    const folded = former
    const sum = (await add(folded).getMetricsAsJSON()) as ProcessMetrics
    former = [sum, ...former.filter((of) => !folded.includes(of))]
  }
  return {
    /** The counters of a process that has ended stay in the sums, because a sum that decreases looks like a restart. */
    ended: (last: ProcessMetrics): void => {
      former = [...former, last.filter(grows)]
      if (former.length === maxFormer) void fold()
    },
    text: (running: ProcessMetrics[]): Promise<string> => add([...running, ...former]).metrics(),
  }
}
