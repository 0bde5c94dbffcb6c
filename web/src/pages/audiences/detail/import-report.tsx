import { importing } from '../../../strings/audiences.ts'
import { DetailList } from '../../../ui/detail-list.tsx'
import { Table } from '../../../ui/table.tsx'
import type { ImportReport } from './upload-csv.ts'

export const ImportReportView = ({ report }: { report: ImportReport }) => (
  <div role="status" className="flex flex-col gap-4">
    <DetailList
      facts={[
        { name: importing.rows, value: report.rows },
        { name: importing.created, value: report.created },
        { name: importing.linked, value: report.linked },
        { name: importing.already, value: report.already_members },
        { name: importing.skipped, value: report.skipped },
      ]}
    />
    {report.errors.length === 0 ? (
      <p className="text-sm">{importing.allTaken}</p>
    ) : (
      <div className="max-h-96 overflow-auto">
        <Table
          label={importing.skipped}
          rows={report.errors}
          rowKey={({ row }) => String(row)}
          columns={[
            { id: 'row', header: importing.row, className: 'w-20', align: 'right', cell: ({ row }) => row },
            { id: 'reason', header: importing.reason, cell: ({ message }) => message },
          ]}
        />
      </div>
    )}
  </div>
)
