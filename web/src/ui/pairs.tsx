/** Names with their values, such as headers. */
export const Pairs = ({ title, pairs }: { title: string; pairs: Record<string, string> }) =>
  Object.keys(pairs).length === 0 ? null : (
    <section>
      <h3 className="mb-1.5 font-medium text-sm">{title}</h3>
      <table className="w-full rounded-md border text-sm">
        <tbody>
          {Object.entries(pairs).map(([name, value]) => (
            <tr key={name} className="border-b last:border-b-0">
              <th
                scope="row"
                className="w-2/5 break-all px-3 py-1.5 text-left font-mono font-normal text-muted text-xs"
              >
                {name}
              </th>
              <td className="break-all px-3 py-1.5 font-mono text-xs">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
