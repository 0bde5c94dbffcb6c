import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

type LabelledValue<Label extends string> = { labels: Record<Label, string>; value: number }

type Labelled<Label extends string> = { help: string; labels: readonly Label[] }

/** One registry per service: in tests, two services in one process must not share metrics. */
export const makeMetrics = () => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Request duration by method, route and status',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  /** The series of each method, route and status, which takes longer to look up than to use. */
  const series = new Map<string, { observe(seconds: number): void }>()
  return {
    request: (method: string, route: string, status: number, seconds: number): void => {
      const name = `${method} ${route} ${status}`
      let one = series.get(name)
      if (!one) {
        one = requests.labels(method, route, String(status))
        series.set(name, one)
      }
      one.observe(seconds)
    },
    /**
     * A value that is read on each scrape, such as the age of the oldest queued item. Several processes show the largest
     * of their values, because most are ages or read from the database they share; `sum` is for amounts that each has.
     */
    gauge: (name: string, help: string, read: () => number | Promise<number>, over: 'max' | 'sum' = 'max'): void => {
      new Gauge({
        name,
        help,
        registers: [registry],
        aggregator: over,
        async collect() {
          this.set(await read())
        },
      })
    },
    /** The same by labels. A series that is not read any more disappears. */
    gauges: <Label extends string>(
      name: string,
      { help, labels, combine }: Labelled<Label> & { combine: 'sum' | 'max' },
      read: () => LabelledValue<Label>[] | Promise<LabelledValue<Label>[]>,
    ): void => {
      new Gauge({
        name,
        help,
        labelNames: labels,
        aggregator: combine,
        registers: [registry],
        async collect() {
          const values = await read()
          this.reset()
          for (const { labels: of, value } of values) this.set(of, value)
        },
      })
    },
    histogram: <Label extends string>(
      name: string,
      { help, labels, buckets }: Labelled<Label> & { buckets: number[] },
    ) => {
      const histogram = new Histogram({ name, help, labelNames: labels, buckets, registers: [registry] })
      return { observe: (of: Record<Label, string>, value: number): void => histogram.observe(of, value) }
    },
    counter: (name: string, help: string) => {
      const counter = new Counter({ name, help, registers: [registry] })
      return { add: (n = 1): void => counter.inc(n) }
    },
    /** The same by labels. */
    counters: <Label extends string>(name: string, { help, labels }: Labelled<Label>) => {
      const counter = new Counter({ name, help, labelNames: labels, registers: [registry] })
      return { add: (of: Record<Label, string>): void => counter.inc(of) }
    },
    text: (): Promise<string> => registry.metrics(),
    /** The metrics of this process alone, for the sums over several. */
    values: () => registry.getMetricsAsJSON(),
    contentType: registry.contentType,
  }
}

export type Metrics = ReturnType<typeof makeMetrics>
