from skills.pipeline_report import pipeline_report

report = await pipeline_report("2026-12-01")
print(report)
assert report.count("\n|") == 6
